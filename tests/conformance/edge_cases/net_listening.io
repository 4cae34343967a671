>> {"jsonrpc":"2.0","id":0,"method":"net_listening","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":true}
