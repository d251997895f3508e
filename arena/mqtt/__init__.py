"""Matches on an MQTT broker: published while they are played, and watched from anywhere."""
