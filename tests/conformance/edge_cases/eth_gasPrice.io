>> {"jsonrpc":"2.0","id":0,"method":"eth_gasPrice","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"0x1b155d7"}
