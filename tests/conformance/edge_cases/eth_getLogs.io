>> {"jsonrpc":"2.0","id":0,"method":"eth_getLogs","params":[]}
<< {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[null]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getLogs","params":["x"]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal string into Go value of type filters.input"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_getLogs","params":[5]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go value of type filters.input"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_getLogs","params":[[]]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal array into Go value of type filters.input"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_getLogs","params":[{"blockHash":"0x1111111111111111111111111111111111111111111111111111111111111111"}]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"unknown block"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_getLogs","params":[{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","fromBlock":"0x1"}]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_getLogs","params":[{"blockhash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"}]}
<< {"jsonrpc":"2.0","id":7,"result":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","topics":["0x00000000000000000000000000000000000000000000000000000000656d6974","0x95b7276947f6331672b0c63eca28c1d39f25286d5e2793d6a487837ff1475ba0"],"data":"0x0000000000000000000000000000000000000000000000000000000000000001","blockNumber":"0x4","transactionHash":"0xd48ebacfb769b85602310e2e0cf322e19f8cce25ac69cfd52f2d8622e3bbc3c9","transactionIndex":"0x1","blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","blockTimestamp":"0x28","logIndex":"0x0","removed":false}]}
>> {"jsonrpc":"2.0","id":8,"method":"eth_getLogs","params":[{"blockHash":"0x12"}]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 64 for common.Hash"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_getLogs","params":[{"blockHash":5}]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field input.blockHash of type common.Hash"}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_getLogs","params":[{"fromBlock":"0x5","toBlock":"0x4"}]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid block range params"}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_getLogs","params":[{"fromBlock":"0x5","toBlock":"earliest"}]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid block range params"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_getLogs","params":[{"fromBlock":"latest","toBlock":"0x4"}]}
<< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"invalid block range params"}}
>> {"jsonrpc":"2.0","id":13,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x3e8"}]}
<< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"block range extends beyond current head block"}}
>> {"jsonrpc":"2.0","id":14,"method":"eth_getLogs","params":[{"fromBlock":"0x3e8","toBlock":"0x3e9"}]}
<< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"block range extends beyond current head block"}}
>> {"jsonrpc":"2.0","id":15,"method":"eth_getLogs","params":[{"fromBlock":"0x3e8"}]}
<< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"invalid block range params"}}
>> {"jsonrpc":"2.0","id":16,"method":"eth_getLogs","params":[{"fromBlock":"pending"}]}
<< {"jsonrpc":"2.0","id":16,"error":{"code":-32602,"message":"pending logs are not supported"}}
>> {"jsonrpc":"2.0","id":17,"method":"eth_getLogs","params":[{"toBlock":"pending"}]}
<< {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"pending logs are not supported"}}
>> {"jsonrpc":"2.0","id":18,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"pending"}]}
<< {"jsonrpc":"2.0","id":18,"error":{"code":-32602,"message":"pending logs are not supported"}}
>> {"jsonrpc":"2.0","id":19,"method":"eth_getLogs","params":[{"fromBlock":5}]}
<< {"jsonrpc":"2.0","id":19,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":20,"method":"eth_getLogs","params":[{"fromBlock":"bogus"}]}
<< {"jsonrpc":"2.0","id":20,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":21,"method":"eth_getLogs","params":[{"fromBlock":""}]}
<< {"jsonrpc":"2.0","id":21,"error":{"code":-32602,"message":"invalid argument 0: empty hex string"}}
>> {"jsonrpc":"2.0","id":22,"method":"eth_getLogs","params":[{"fromBlock":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"}]}
<< {"jsonrpc":"2.0","id":22,"error":{"code":-32602,"message":"invalid argument 0: hex number > 64 bits"}}
>> {"jsonrpc":"2.0","id":23,"method":"eth_getLogs","params":[{"address":"0x12"}]}
<< {"jsonrpc":"2.0","id":23,"error":{"code":-32602,"message":"invalid argument 0: invalid address: hex has invalid length 1 after decoding; expected 20 for address"}}
>> {"jsonrpc":"2.0","id":24,"method":"eth_getLogs","params":[{"address":""}]}
<< {"jsonrpc":"2.0","id":24,"error":{"code":-32602,"message":"invalid argument 0: invalid address: empty hex string"}}
>> {"jsonrpc":"2.0","id":25,"method":"eth_getLogs","params":[{"address":5}]}
<< {"jsonrpc":"2.0","id":25,"error":{"code":-32602,"message":"invalid argument 0: invalid addresses in query"}}
>> {"jsonrpc":"2.0","id":26,"method":"eth_getLogs","params":[{"address":{}}]}
<< {"jsonrpc":"2.0","id":26,"error":{"code":-32602,"message":"invalid argument 0: invalid addresses in query"}}
>> {"jsonrpc":"2.0","id":27,"method":"eth_getLogs","params":[{"address":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","0x12"]}]}
<< {"jsonrpc":"2.0","id":27,"error":{"code":-32602,"message":"invalid argument 0: invalid address at index 1: hex has invalid length 1 after decoding; expected 20 for address"}}
>> {"jsonrpc":"2.0","id":28,"method":"eth_getLogs","params":[{"address":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",5]}]}
<< {"jsonrpc":"2.0","id":28,"error":{"code":-32602,"message":"invalid argument 0: non-string address at index 1"}}
>> {"jsonrpc":"2.0","id":29,"method":"eth_getLogs","params":[{"address":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",null]}]}
<< {"jsonrpc":"2.0","id":29,"error":{"code":-32602,"message":"invalid argument 0: non-string address at index 1"}}
>> {"jsonrpc":"2.0","id":30,"method":"eth_getLogs","params":[{"address":["zz"]}]}
<< {"jsonrpc":"2.0","id":30,"error":{"code":-32602,"message":"invalid argument 0: invalid address at index 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":31,"method":"eth_getLogs","params":[{"address":["0xzz"]}]}
<< {"jsonrpc":"2.0","id":31,"error":{"code":-32602,"message":"invalid argument 0: invalid address at index 0: invalid hex string"}}
>> {"jsonrpc":"2.0","id":32,"method":"eth_getLogs","params":[{"address":["0x123"]}]}
<< {"jsonrpc":"2.0","id":32,"error":{"code":-32602,"message":"invalid argument 0: invalid address at index 0: hex string of odd length"}}
>> {"jsonrpc":"2.0","id":33,"method":"eth_getLogs","params":[{"address":["0x"]}]}
<< {"jsonrpc":"2.0","id":33,"error":{"code":-32602,"message":"invalid argument 0: invalid address at index 0: hex has invalid length 0 after decoding; expected 20 for address"}}
>> {"jsonrpc":"2.0","id":34,"method":"eth_getLogs","params":[{"topics":["0x2222222222222222222222222222222222222222222222222222222222222222","0x2222222222222222222222222222222222222222222222222222222222222222","0x2222222222222222222222222222222222222222222222222222222222222222","0x2222222222222222222222222222222222222222222222222222222222222222","0x2222222222222222222222222222222222222222222222222222222222222222"]}]}
<< {"jsonrpc":"2.0","id":34,"error":{"code":-32602,"message":"invalid argument 0: exceed max topics"}}
>> {"jsonrpc":"2.0","id":35,"method":"eth_getLogs","params":[{"topics":"x"}]}
<< {"jsonrpc":"2.0","id":35,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal string into Go struct field input.topics of type []interface {}"}}
>> {"jsonrpc":"2.0","id":36,"method":"eth_getLogs","params":[{"topics":5}]}
<< {"jsonrpc":"2.0","id":36,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go struct field input.topics of type []interface {}"}}
>> {"jsonrpc":"2.0","id":37,"method":"eth_getLogs","params":[{"topics":{}}]}
<< {"jsonrpc":"2.0","id":37,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal object into Go struct field input.topics of type []interface {}"}}
>> {"jsonrpc":"2.0","id":38,"method":"eth_getLogs","params":[{"topics":[5]}]}
<< {"jsonrpc":"2.0","id":38,"error":{"code":-32602,"message":"invalid argument 0: invalid topic(s)"}}
>> {"jsonrpc":"2.0","id":39,"method":"eth_getLogs","params":[{"topics":[[5]]}]}
<< {"jsonrpc":"2.0","id":39,"error":{"code":-32602,"message":"invalid argument 0: invalid topic(s)"}}
>> {"jsonrpc":"2.0","id":40,"method":"eth_getLogs","params":[{"topics":[["0x12"]]}]}
<< {"jsonrpc":"2.0","id":40,"error":{"code":-32602,"message":"invalid argument 0: hex has invalid length 1 after decoding; expected 32 for topic"}}
>> {"jsonrpc":"2.0","id":41,"method":"eth_getLogs","params":[{"topics":["0x12"]}]}
<< {"jsonrpc":"2.0","id":41,"error":{"code":-32602,"message":"invalid argument 0: hex has invalid length 1 after decoding; expected 32 for topic"}}
>> {"jsonrpc":"2.0","id":42,"method":"eth_getLogs","params":[{"topics":[""]}]}
<< {"jsonrpc":"2.0","id":42,"error":{"code":-32602,"message":"invalid argument 0: empty hex string"}}
>> {"jsonrpc":"2.0","id":43,"method":"eth_getLogs","params":[{"topics":["zz"]}]}
<< {"jsonrpc":"2.0","id":43,"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":44,"method":"eth_getLogs","params":[{"topics":[{}]}]}
<< {"jsonrpc":"2.0","id":44,"error":{"code":-32602,"message":"invalid argument 0: invalid topic(s)"}}
>> {"jsonrpc":"2.0","id":45,"method":"eth_getLogs","params":[{"topics":[null,null,null,null]}]}
<< {"jsonrpc":"2.0","id":45,"result":[]}
>> {"jsonrpc":"2.0","id":46,"method":"eth_getLogs","params":[{},1]}
<< {"jsonrpc":"2.0","id":46,"error":{"code":-32602,"message":"too many arguments, want at most 1"}}
>> {"jsonrpc":"2.0","id":47,"method":"eth_getLogs","params":[{"topics":[true]}]}
<< {"jsonrpc":"2.0","id":47,"error":{"code":-32602,"message":"invalid argument 0: invalid topic(s)"}}
>> {"jsonrpc":"2.0","id":48,"method":"eth_getLogs","params":[{"address":"zz"}]}
<< {"jsonrpc":"2.0","id":48,"error":{"code":-32602,"message":"invalid argument 0: invalid address: hex string without 0x prefix"}}
>> {"jsonrpc":"2.0","id":49,"method":"eth_getLogs","params":[{"address":true}]}
<< {"jsonrpc":"2.0","id":49,"error":{"code":-32602,"message":"invalid argument 0: invalid addresses in query"}}
>> {"jsonrpc":"2.0","id":50,"method":"eth_getLogs","params":[{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","fromBlock":null}]}
<< {"jsonrpc":"2.0","id":50,"result":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","topics":["0x00000000000000000000000000000000000000000000000000000000656d6974","0x95b7276947f6331672b0c63eca28c1d39f25286d5e2793d6a487837ff1475ba0"],"data":"0x0000000000000000000000000000000000000000000000000000000000000001","blockNumber":"0x4","transactionHash":"0xd48ebacfb769b85602310e2e0cf322e19f8cce25ac69cfd52f2d8622e3bbc3c9","transactionIndex":"0x1","blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","blockTimestamp":"0x28","logIndex":"0x0","removed":false}]}
>> {"jsonrpc":"2.0","id":51,"method":"eth_getLogs","params":[{"fromBlock":"earliest","toBlock":"latest","address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","topics":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]}
<< {"jsonrpc":"2.0","id":51,"result":[]}
>> {"jsonrpc":"2.0","id":52,"method":"eth_getLogs","params":[{"fromBlock":"safe","toBlock":"finalized","topics":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]}
<< {"jsonrpc":"2.0","id":52,"result":[]}
