"""What a turn is made of, the models it may use, its errors and its texts."""
