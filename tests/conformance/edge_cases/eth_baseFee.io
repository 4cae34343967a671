>> {"jsonrpc":"2.0","id":0,"method":"eth_baseFee","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"0x16dfe9b"}
