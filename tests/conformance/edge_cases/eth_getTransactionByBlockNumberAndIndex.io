>> {"jsonrpc":"2.0","id":0,"method":"eth_getTransactionByBlockNumberAndIndex","params":["0x3e8","0x0"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByBlockNumberAndIndex","params":["latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing value for required argument 1"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getTransactionByBlockNumberAndIndex","params":["pending","0x0"]}
<< {"jsonrpc":"2.0","id":2,"result":null}
