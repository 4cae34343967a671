>> {"jsonrpc":"2.0","id":0,"method":"eth_getTransactionByHash","params":["0x1"]}
<< {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go value of type common.Hash"}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByHash","params":["0x1111111111111111111111111111111111111111111111111111111111111111"]}
<< {"jsonrpc":"2.0","id":1,"result":null}
