>> {"jsonrpc":"2.0","id":0,"method":"eth_accounts","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":[]}
