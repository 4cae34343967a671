>> {"jsonrpc":"2.0","id":0,"method":"eth_getTransactionCount","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","pending"]}
<< {"jsonrpc":"2.0","id":0,"result":"0x0"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x3e8"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}
