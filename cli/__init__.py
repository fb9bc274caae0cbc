"""What a person types and sees: one file a command. No tensors, no audio, no decisions about items."""
