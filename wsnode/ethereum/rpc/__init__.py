"""The eth_, net_ and web3_ methods, a module a topic."""
