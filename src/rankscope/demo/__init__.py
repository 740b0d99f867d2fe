"""Two small real jobs that hang on purpose, and what the verdict on them has to be."""
