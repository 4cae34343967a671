>> {"jsonrpc":"2.0","id":0,"method":"eth_getUncleByBlockHashAndIndex","params":["0x1111111111111111111111111111111111111111111111111111111111111111","0x0"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
