"""Tournament formats: who plays whom, stage by stage."""
