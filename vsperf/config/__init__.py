"""What the user wrote: frozen models, and the loader that fills them from YAML."""
