"""The nouns: frozen records that every other room shares. No I/O, standard library only, Python 3.9+."""
