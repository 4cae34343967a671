"""Node of several processes: a parent that accepts connections and passes them to workers."""
