>> {"jsonrpc":"2.0","id":0,"method":"eth_getBlockTransactionCountByNumber","params":["0x3e8"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockTransactionCountByNumber","params":["pending"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x0"}
