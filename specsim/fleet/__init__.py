"""What is outside one server: routers, and several replicas in one time."""
