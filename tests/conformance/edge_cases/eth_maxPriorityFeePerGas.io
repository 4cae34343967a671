>> {"jsonrpc":"2.0","id":0,"method":"eth_maxPriorityFeePerGas","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"0xf4240"}
