"""Find pairs by meaning and by picture: vectors kept beside the store, searched with faiss."""
