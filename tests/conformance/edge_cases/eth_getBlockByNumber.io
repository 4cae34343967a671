>> {"jsonrpc":"2.0","id":0,"method":"eth_getBlockByNumber","params":["latest"]}
<< {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"missing value for required argument 1"}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest","true"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal string into Go value of type bool"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getBlockByNumber","params":["latest",1]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal number into Go value of type bool"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_getBlockByNumber","params":["latest",null]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"missing value for required argument 1"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_getBlockByNumber","params":[5,false]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_getBlockByNumber","params":[{"blockNumber":"0x1"},false]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_getBlockByNumber","params":["0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94",false]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 0: hex number > 64 bits"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_getBlockByNumber","params":["0x8000000000000000",false]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid argument 0: block number larger than int64"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_getBlockByNumber","params":["bogus",false]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_getBlockByNumber","params":["0x36",false,1]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"too many arguments, want at most 2"}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_getBlockByNumber","params":["",false]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid argument 0: empty hex string"}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_getBlockByNumber","params":[true,false]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_getBlockByNumber","params":[["0x1"],false]}
<< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
