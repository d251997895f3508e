"""Agents that answer from another process or machine, through an MQTT broker, and the way to such a broker."""
