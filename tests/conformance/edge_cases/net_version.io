>> {"jsonrpc":"2.0","id":0,"method":"net_version","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"3503995874084926"}
