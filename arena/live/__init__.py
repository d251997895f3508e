"""What a person sees while games are played."""
