"""What a history is made of: calls, turns, episodes, standings and bounded memories."""
