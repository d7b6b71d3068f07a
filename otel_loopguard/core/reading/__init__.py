"""What a result says, told in flags, numbers and comparable text."""
