"""The policy file: text in, a policy with the source of every value out."""
