"""What tests of live programs stand on: start a patient, hear that it is sick, look at it, end it and all it started."""
