>> {"jsonrpc":"2.0","id":0,"method":"eth_getBalance","params":[]}
<< {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[null,"latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",null]}
<< {"jsonrpc":"2.0","id":2,"result":"0x76"}
>> {"jsonrpc":"2.0","id":3,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","latest",1]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"too many arguments, want at most 2"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_getBalance","params":{"a":1}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"non-array args"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_getBalance","params":"x"}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"non-array args"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_getBalance","params":["0x12","latest"]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_getBalance","params":["0x123","latest"]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go value of type common.Address"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_getBalance","params":["12","latest"]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_getBalance","params":[5,"latest"]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go value of type common.Address"}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_getBalance","params":["","latest"]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 0, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27dz","latest"]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal invalid hex string into Go value of type common.Address"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_getBalance","params":["0X7DCD17433742F4C0CA53122AB541D0BA67FC27DF","latest"]}
<< {"jsonrpc":"2.0","id":12,"result":"0x76"}
>> {"jsonrpc":"2.0","id":13,"method":"eth_getBalance","params":["0X7DCD17433742F4C0CA53122AB541D0BA67FC27DF","0X36"]}
<< {"jsonrpc":"2.0","id":13,"result":"0x76"}
>> {"jsonrpc":"2.0","id":14,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","Latest"]}
<< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"invalid argument 1: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":15,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",""]}
<< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"invalid argument 1: empty hex string"}}
>> {"jsonrpc":"2.0","id":16,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x"]}
<< {"jsonrpc":"2.0","id":16,"error":{"code":-32602,"message":"invalid argument 1: hex string \"0x\""}}
>> {"jsonrpc":"2.0","id":17,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x01"]}
<< {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"invalid argument 1: hex number with leading zero digits"}}
>> {"jsonrpc":"2.0","id":18,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0xzz"]}
<< {"jsonrpc":"2.0","id":18,"error":{"code":-32602,"message":"invalid argument 1: invalid hex string"}}
>> {"jsonrpc":"2.0","id":19,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x10000000000000000"]}
<< {"jsonrpc":"2.0","id":19,"error":{"code":-32602,"message":"invalid argument 1: hex number > 64 bits"}}
>> {"jsonrpc":"2.0","id":20,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x8000000000000000"]}
<< {"jsonrpc":"2.0","id":20,"error":{"code":-32602,"message":"invalid argument 1: blocknumber too high"}}
>> {"jsonrpc":"2.0","id":21,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",5]}
<< {"jsonrpc":"2.0","id":21,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal number into Go value of type string"}}
>> {"jsonrpc":"2.0","id":22,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",true]}
<< {"jsonrpc":"2.0","id":22,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal bool into Go value of type string"}}
>> {"jsonrpc":"2.0","id":23,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",["0x1"]]}
<< {"jsonrpc":"2.0","id":23,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal array into Go value of type string"}}
>> {"jsonrpc":"2.0","id":24,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{}]}
<< {"jsonrpc":"2.0","id":24,"error":{"code":-32602,"message":"invalid argument 1: must specify either BlockHash or BlockNumber"}}
>> {"jsonrpc":"2.0","id":25,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockNumber":"0x1","blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"}]}
<< {"jsonrpc":"2.0","id":25,"error":{"code":-32602,"message":"invalid argument 1: cannot specify both BlockHash and BlockNumber, choose one or the other"}}
>> {"jsonrpc":"2.0","id":26,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockNumber":"latest"}]}
<< {"jsonrpc":"2.0","id":26,"result":"0x76"}
>> {"jsonrpc":"2.0","id":27,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockNumber":5}]}
<< {"jsonrpc":"2.0","id":27,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal object into Go value of type string"}}
>> {"jsonrpc":"2.0","id":28,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockHash":"0x12"}]}
<< {"jsonrpc":"2.0","id":28,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal object into Go value of type string"}}
>> {"jsonrpc":"2.0","id":29,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","requireCanonical":true}]}
<< {"jsonrpc":"2.0","id":29,"result":"0x4"}
>> {"jsonrpc":"2.0","id":30,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockHash":"0x1111111111111111111111111111111111111111111111111111111111111111"}]}
<< {"jsonrpc":"2.0","id":30,"error":{"code":-32000,"message":"header for hash not found"}}
>> {"jsonrpc":"2.0","id":31,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x1111111111111111111111111111111111111111111111111111111111111111"]}
<< {"jsonrpc":"2.0","id":31,"error":{"code":-32000,"message":"header for hash not found"}}
>> {"jsonrpc":"2.0","id":32,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x111111111111111111111111111111111111111111111111111111111111111g"]}
<< {"jsonrpc":"2.0","id":32,"error":{"code":-32602,"message":"invalid argument 1: invalid hex string"}}
>> {"jsonrpc":"2.0","id":33,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","111111111111111111111111111111111111111111111111111111111111111111"]}
<< {"jsonrpc":"2.0","id":33,"error":{"code":-32602,"message":"invalid argument 1: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":34,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x3e8"]}
<< {"jsonrpc":"2.0","id":34,"error":{"code":-32000,"message":"header not found"}}
>> {"jsonrpc":"2.0","id":35,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","requireCanonical":"yes"}]}
<< {"jsonrpc":"2.0","id":35,"error":{"code":-32602,"message":"invalid argument 1: json: cannot unmarshal object into Go value of type string"}}
>> {"jsonrpc":"2.0","id":36,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",{"BLOCKHASH":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"}]}
<< {"jsonrpc":"2.0","id":36,"result":"0x4"}
>> {"jsonrpc":"2.0","id":37,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","pending"]}
<< {"jsonrpc":"2.0","id":37,"result":"0x76"}
>> {"jsonrpc":"2.0","id":38,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","safe"]}
<< {"jsonrpc":"2.0","id":38,"result":"0x76"}
>> {"jsonrpc":"2.0","id":39,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","finalized"]}
<< {"jsonrpc":"2.0","id":39,"result":"0x76"}
>> {"jsonrpc":"2.0","id":40,"method":"eth_getBalance","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","earliest"]}
<< {"jsonrpc":"2.0","id":40,"result":"0x0"}
