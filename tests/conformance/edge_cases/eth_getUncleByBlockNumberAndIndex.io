>> {"jsonrpc":"2.0","id":0,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","0x0"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","0x01"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal hex number with leading zero digits into Go value of type hexutil.Uint"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1",0]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal non-string into Go value of type hexutil.Uint"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1",""]}
<< {"jsonrpc":"2.0","id":3,"result":null}
>> {"jsonrpc":"2.0","id":4,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x3e8","0x0"]}
<< {"jsonrpc":"2.0","id":4,"result":null}
>> {"jsonrpc":"2.0","id":5,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","0x10000000000000000"]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal hex number > 64 bits into Go value of type hexutil.Uint"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","0xzz"]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal invalid hex string into Go value of type hexutil.Uint"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","zz"]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal hex string without 0x prefix into Go value of type hexutil.Uint"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x1","0x"]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal hex string \"0x\" into Go value of type hexutil.Uint"}}
