>> {"jsonrpc":"2.0","id":0,"method":"eth_getBlockTransactionCountByHash","params":["0x1111111111111111111111111111111111111111111111111111111111111111"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
