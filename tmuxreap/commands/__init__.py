"""One file a verb, each with one function from the application and a request to a Result."""
