>> {"jsonrpc":"2.0","id":0,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x0"]}
<< {"jsonrpc":"2.0","id":0,"result":"0x0000000000000000000000000000000000000000000000000000000000000038"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0","latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000000000000000000000000038"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","","latest"]}
<< {"jsonrpc":"2.0","id":2,"result":"0x0000000000000000000000000000000000000000000000000000000000000038"}
>> {"jsonrpc":"2.0","id":3,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x","latest"]}
<< {"jsonrpc":"2.0","id":3,"result":"0x0000000000000000000000000000000000000000000000000000000000000038"}
>> {"jsonrpc":"2.0","id":4,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x00000000000000000000000000000000000000000000000000000000000000000","latest"]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"storage key too long (want at most 32 bytes): \"0x00000000000000000000000000000000000000000000000000000000000000000\""}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x0000000000000000000000000000000000000000000000000000000000000000","latest"]}
<< {"jsonrpc":"2.0","id":5,"result":"0x0000000000000000000000000000000000000000000000000000000000000038"}
>> {"jsonrpc":"2.0","id":6,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0xasdf","latest"]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid hex in storage key: \"0xasdf\""}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","asdfé\"\n","latest"]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid hex in storage key: \"asdfé\\\"\\n\""}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",5,"latest"]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal number into Go value of type string"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",null,"latest"]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"missing value for required argument 1"}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0xgggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg","latest"]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"storage key too long (want at most 32 bytes): \"0xgggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg\""}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0xasdf","0x3e8"]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32000,"message":"header not found"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"]}
<< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"missing value for required argument 1"}}
>> {"jsonrpc":"2.0","id":13,"method":"eth_getStorageAt","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"a":1},"latest"]}
<< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal object into Go value of type string"}}
