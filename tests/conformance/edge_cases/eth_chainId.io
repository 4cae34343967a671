>> {"jsonrpc":"2.0","id":0,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":0,"result":"0xc72dd9d5e883e"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"too many arguments, want at most 0"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_chainId","params":{"a":1}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"non-array args"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_chainId","params":null}
<< {"jsonrpc":"2.0","id":3,"result":"0xc72dd9d5e883e"}
