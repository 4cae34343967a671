>> {"jsonrpc":"2.0","id":0,"method":"net_peerCount","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"0x0"}
