"""3. Layers and distributions that the models are made of."""
