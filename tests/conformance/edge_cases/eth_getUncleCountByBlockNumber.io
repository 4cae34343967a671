>> {"jsonrpc":"2.0","id":0,"method":"eth_getUncleCountByBlockNumber","params":["0x1"]}
<< {"jsonrpc":"2.0","id":0,"result":"0x0"}
