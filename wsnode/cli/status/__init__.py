"""`wsnode status`: what a running node says of itself."""
