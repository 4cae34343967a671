>> {"jsonrpc":"2.0","id":0,"method":"eth_getBlockByHash","params":["latest",false]}
<< {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of type common.Hash"}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockByHash","params":["0x12",false]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 64 for common.Hash"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getBlockByHash","params":[null,false]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"missing value for required argument 0"}}
