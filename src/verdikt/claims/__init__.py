"""The reader of claims: what a message says was done, per sentence, by a small trained model."""
