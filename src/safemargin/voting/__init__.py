"""How private the result of a vote is by itself: rules, beliefs, and engines that answer exactly where they can."""
