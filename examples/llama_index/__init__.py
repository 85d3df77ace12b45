"""An agent of llama_index that releases a project, governed."""
