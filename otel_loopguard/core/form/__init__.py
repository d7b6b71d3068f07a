"""What canonical arguments are made of: reading, the normal form, numbers, the two ways of writing."""
