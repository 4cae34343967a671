>> {"jsonrpc":"2.0","id":0,"method":"eth_estimateGas","params":[{}]}
<< {"jsonrpc":"2.0","id":0,"result":"0xd221"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"to":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0xc324"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_estimateGas","params":[{"from":"0x12"}]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_estimateGas","params":[{"from":5}]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.from of type common.Address"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_estimateGas","params":[{"to":""}]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 0, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_estimateGas","params":[{"gas":"0x01"}]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number with leading zero digits into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_estimateGas","params":[{"gas":5}]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_estimateGas","params":[{"gas":"xx"}]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_estimateGas","params":[{"gas":"0x10000000000000000"}]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number > 64 bits into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_estimateGas","params":[{"gas":""}]}
<< {"jsonrpc":"2.0","id":9,"result":"0xd221"}
>> {"jsonrpc":"2.0","id":10,"method":"eth_estimateGas","params":[{"gasPrice":"0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number > 256 bits into Go struct field TransactionArgs.gasPrice of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_estimateGas","params":[{"value":"5"}]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.value of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_estimateGas","params":[{"value":5}]}
<< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.value of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":13,"method":"eth_estimateGas","params":[{"nonce":"0xzz"}]}
<< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal invalid hex string into Go struct field TransactionArgs.nonce of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":14,"method":"eth_estimateGas","params":[{"data":"0x1"}]}
<< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":15,"method":"eth_estimateGas","params":[{"data":"zz"}]}
<< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":16,"method":"eth_estimateGas","params":[{"data":"0xzz"}]}
<< {"jsonrpc":"2.0","id":16,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal invalid hex string into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":17,"method":"eth_estimateGas","params":[{"data":5}]}
<< {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":18,"method":"eth_estimateGas","params":[{"input":true}]}
<< {"jsonrpc":"2.0","id":18,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.input of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":19,"method":"eth_estimateGas","params":[{"data":"0x01","input":"0x01","to":"0x0000000000000000000000000000000000000000"}]}
<< {"jsonrpc":"2.0","id":19,"result":"0x52d5"}
>> {"jsonrpc":"2.0","id":20,"method":"eth_estimateGas","params":[{"gasPrice":"0x1","maxFeePerGas":"0x1"}]}
<< {"jsonrpc":"2.0","id":20,"error":{"code":-32000,"message":"both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"}}
>> {"jsonrpc":"2.0","id":21,"method":"eth_estimateGas","params":[{"gasPrice":"0x1","maxPriorityFeePerGas":"0x1"}]}
<< {"jsonrpc":"2.0","id":21,"error":{"code":-32000,"message":"both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"}}
>> {"jsonrpc":"2.0","id":22,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","chainId":"0x1"}]}
<< {"jsonrpc":"2.0","id":22,"error":{"code":-32000,"message":"chainId does not match node's (have=1, want=3503995874084926)"}}
>> {"jsonrpc":"2.0","id":23,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","chainId":"0xc72dd9d5e883e"}]}
<< {"jsonrpc":"2.0","id":23,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":24,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","value":"0x1","from":"0x1313131313131313131313131313131313131313"}]}
<< {"jsonrpc":"2.0","id":24,"error":{"code":-32000,"message":"failed with 16777216 gas: insufficient funds for gas * price + value: address 0x1313131313131313131313131313131313131313 have 0 want 1"}}
>> {"jsonrpc":"2.0","id":25,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gasPrice":"0x1"}]}
<< {"jsonrpc":"2.0","id":25,"error":{"code":-32000,"message":"failed with 16777216 gas: max fee per gas less than block base fee: address 0x0000000000000000000000000000000000000000, maxFeePerGas: 1, baseFee: 27399063"}}
>> {"jsonrpc":"2.0","id":26,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gasPrice":"0x7fffffff","from":"0x1313131313131313131313131313131313131313"}]}
<< {"jsonrpc":"2.0","id":26,"error":{"code":-32000,"message":"insufficient funds for transfer"}}
>> {"jsonrpc":"2.0","id":27,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","maxFeePerGas":"0x1"}]}
<< {"jsonrpc":"2.0","id":27,"error":{"code":-32000,"message":"failed with 16777216 gas: max fee per gas less than block base fee: address 0x0000000000000000000000000000000000000000, maxFeePerGas: 1, baseFee: 27399063"}}
>> {"jsonrpc":"2.0","id":28,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x0"}]}
<< {"jsonrpc":"2.0","id":28,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":29,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x5207"}]}
<< {"jsonrpc":"2.0","id":29,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":30,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x5208"}]}
<< {"jsonrpc":"2.0","id":30,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":31,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0xffffffffffffff"}]}
<< {"jsonrpc":"2.0","id":31,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":32,"method":"eth_estimateGas","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x00"}]}
<< {"jsonrpc":"2.0","id":32,"error":{"code":3,"message":"execution reverted: assert(false)","data":"0x4e487b710000000000000000000000000000000000000000000000000000000000000001"}}
>> {"jsonrpc":"2.0","id":33,"method":"eth_estimateGas","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x01"}]}
<< {"jsonrpc":"2.0","id":33,"error":{"code":3,"message":"execution reverted: user error","data":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72"}}
>> {"jsonrpc":"2.0","id":34,"method":"eth_estimateGas","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x02"}]}
<< {"jsonrpc":"2.0","id":34,"error":{"code":3,"message":"execution reverted: user error","data":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72"}}
>> {"jsonrpc":"2.0","id":35,"method":"eth_estimateGas","params":[{"to":"0x17e7eedce4ac02ef114a7ed9fe6e2f33feba1667","input":"0xff030405"}]}
<< {"jsonrpc":"2.0","id":35,"error":{"code":3,"message":"execution reverted","data":"0x77726f6e672d63616c6c6461746173697a65"}}
>> {"jsonrpc":"2.0","id":36,"method":"eth_estimateGas","params":[{"data":"0xfe"}]}
<< {"jsonrpc":"2.0","id":36,"error":{"code":-32000,"message":"invalid opcode: INVALID"}}
>> {"jsonrpc":"2.0","id":37,"method":"eth_estimateGas","params":[{"data":"0x56"}]}
<< {"jsonrpc":"2.0","id":37,"error":{"code":-32000,"message":"stack underflow (0 <=> 1)"}}
>> {"jsonrpc":"2.0","id":38,"method":"eth_estimateGas","params":[{"data":"0x600056"}]}
<< {"jsonrpc":"2.0","id":38,"error":{"code":-32000,"message":"invalid jump destination"}}
>> {"jsonrpc":"2.0","id":39,"method":"eth_estimateGas","params":[{"data":"0x01"}]}
<< {"jsonrpc":"2.0","id":39,"error":{"code":-32000,"message":"stack underflow (0 <=> 2)"}}
>> {"jsonrpc":"2.0","id":40,"method":"eth_estimateGas","params":[{"data":"0x5b600056","gas":"0x1000000"}]}
<< {"jsonrpc":"2.0","id":40,"error":{"code":-32000,"message":"gas required exceeds allowance (16777216)"}}
>> {"jsonrpc":"2.0","id":41,"method":"eth_estimateGas","params":[{"data":"0x60006000fd"}]}
<< {"jsonrpc":"2.0","id":41,"error":{"code":3,"message":"execution reverted","data":"0x"}}
>> {"jsonrpc":"2.0","id":42,"method":"eth_estimateGas","params":[{"data":"0x6001600055600160005500"}]}
<< {"jsonrpc":"2.0","id":42,"result":"0x130b2"}
>> {"jsonrpc":"2.0","id":43,"method":"eth_estimateGas","params":[{"data":"0x600160005560006000f3","gas":"0xd000"}]}
<< {"jsonrpc":"2.0","id":43,"error":{"code":-32000,"message":"gas required exceeds allowance (53248)"}}
>> {"jsonrpc":"2.0","id":44,"method":"eth_estimateGas","params":[{"accessList":5}]}
<< {"jsonrpc":"2.0","id":44,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go struct field TransactionArgs.accessList of type types.AccessList"}}
>> {"jsonrpc":"2.0","id":45,"method":"eth_estimateGas","params":[{"accessList":[{"address":"0x12","storageKeys":[]}]}]}
<< {"jsonrpc":"2.0","id":45,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":46,"method":"eth_estimateGas","params":[{"accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","storageKeys":["0x1"]}]}]}
<< {"jsonrpc":"2.0","id":46,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go struct field TransactionArgs.accessList.storageKeys of type common.Hash"}}
>> {"jsonrpc":"2.0","id":47,"method":"eth_estimateGas","params":[{"accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]}]}
<< {"jsonrpc":"2.0","id":47,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'storageKeys' for AccessTuple"}}
>> {"jsonrpc":"2.0","id":48,"method":"eth_estimateGas","params":[{"accessList":[{"storageKeys":[]}]}]}
<< {"jsonrpc":"2.0","id":48,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'address' for AccessTuple"}}
>> {"jsonrpc":"2.0","id":49,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","storageKeys":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]}]}
<< {"jsonrpc":"2.0","id":49,"result":"0x6429"}
>> {"jsonrpc":"2.0","id":50,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","nonce":"0x5"}]}
<< {"jsonrpc":"2.0","id":50,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":51,"method":"eth_estimateGas","params":[{"blobVersionedHashes":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]}
<< {"jsonrpc":"2.0","id":51,"error":{"code":-32000,"message":"blob transaction of type create"}}
>> {"jsonrpc":"2.0","id":52,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]}
<< {"jsonrpc":"2.0","id":52,"error":{"code":-32000,"message":"failed with 16777216 gas: blob 0 has invalid hash version"}}
>> {"jsonrpc":"2.0","id":53,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":[]}]}
<< {"jsonrpc":"2.0","id":53,"error":{"code":-32000,"message":"failed with 16777216 gas: blob transaction missing blob hashes"}}
>> {"jsonrpc":"2.0","id":54,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":["0x0122222222222222222222222222222222222222222222222222222222222222"],"maxFeePerBlobGas":"0x1"}]}
<< {"jsonrpc":"2.0","id":54,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":55,"method":"eth_estimateGas","params":[{"authorizationList":[]}]}
<< {"jsonrpc":"2.0","id":55,"error":{"code":-32000,"message":"EIP-7702 transaction cannot be used to create contract"}}
>> {"jsonrpc":"2.0","id":56,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":[]}]}
<< {"jsonrpc":"2.0","id":56,"error":{"code":-32000,"message":"failed with 16777216 gas: EIP-7702 transaction with empty auth list (sender 0x0000000000000000000000000000000000000000)"}}
>> {"jsonrpc":"2.0","id":57,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":[{}]}]}
<< {"jsonrpc":"2.0","id":57,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'chainId' for SetCodeAuthorization"}}
>> {"jsonrpc":"2.0","id":58,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":5}]}
<< {"jsonrpc":"2.0","id":58,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go struct field TransactionArgs.authorizationList of type []types.SetCodeAuthorization"}}
>> {"jsonrpc":"2.0","id":59,"method":"eth_estimateGas","params":[{"From":"0x0000000000000000000000000000000000000000","TO":"0x0000000000000000000000000000000000000000"}]}
<< {"jsonrpc":"2.0","id":59,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":60,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","value":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}]}
<< {"jsonrpc":"2.0","id":60,"error":{"code":-32000,"message":"failed with 16777216 gas: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 have 142312500000103418778 want 115792089237316195423570985008687907853269984665640564039457584007913129639935"}}
>> {"jsonrpc":"2.0","id":61,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","gas":null,"value":null,"from":null}]}
<< {"jsonrpc":"2.0","id":61,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":62,"method":"eth_estimateGas","params":[{"maxFeePerBlobGas":"zz"}]}
<< {"jsonrpc":"2.0","id":62,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.maxFeePerBlobGas of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":63,"method":"eth_estimateGas","params":[{"chainId":"zz"}]}
<< {"jsonrpc":"2.0","id":63,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.chainId of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":64,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","foo":1}]}
<< {"jsonrpc":"2.0","id":64,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":65,"method":"eth_estimateGas","params":[{"data":"0x60ef60005360016000f3"}]}
<< {"jsonrpc":"2.0","id":65,"error":{"code":-32000,"message":"invalid code: must not begin with 0xef"}}
>> {"jsonrpc":"2.0","id":66,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","from":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","nonce":"0xffffffffffffffff"}]}
<< {"jsonrpc":"2.0","id":66,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":67,"method":"eth_estimateGas","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x00","gas":"0x5300"}]}
<< {"jsonrpc":"2.0","id":67,"error":{"code":-32000,"message":"gas required exceeds allowance (21248)"}}
>> {"jsonrpc":"2.0","id":68,"method":"eth_estimateGas","params":[{"data":"0x3d60003e"}]}
<< {"jsonrpc":"2.0","id":68,"error":{"code":-32000,"message":"stack underflow (2 <=> 3)"}}
>> {"jsonrpc":"2.0","id":69,"method":"eth_estimateGas","params":[{"data":"0x5f5f3d3e"}]}
<< {"jsonrpc":"2.0","id":69,"result":"0xd26c"}
>> {"jsonrpc":"2.0","id":70,"method":"eth_estimateGas","params":[{"data":"0x6001600052602060006001600060006000600060045af1"}]}
<< {"jsonrpc":"2.0","id":70,"result":"0xd3e6"}
>> {"jsonrpc":"2.0","id":71,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000006","input":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}]}
<< {"jsonrpc":"2.0","id":71,"error":{"code":-32000,"message":"invalid fp.Element encoding"}}
>> {"jsonrpc":"2.0","id":72,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000009","input":"0x00"}]}
<< {"jsonrpc":"2.0","id":72,"error":{"code":-32000,"message":"invalid input length"}}
>> {"jsonrpc":"2.0","id":73,"method":"eth_estimateGas","params":[{"data":"0x60016000f3"}]}
<< {"jsonrpc":"2.0","id":73,"result":"0xd339"}
>> {"jsonrpc":"2.0","id":74,"method":"eth_estimateGas","params":[{"data":"0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5f52"}]}
<< {"jsonrpc":"2.0","id":74,"result":"0xd462"}
>> {"jsonrpc":"2.0","id":75,"method":"eth_estimateGas","params":[{"data":"0x5f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff52"}]}
<< {"jsonrpc":"2.0","id":75,"error":{"code":-32000,"message":"gas uint64 overflow"}}
>> {"jsonrpc":"2.0","id":76,"method":"eth_estimateGas","params":[{"data":"0x61ffff5ff3"}]}
<< {"jsonrpc":"2.0","id":76,"error":{"code":-32000,"message":"max code size exceeded: code size 65535 limit 24576"}}
>> {"jsonrpc":"2.0","id":77,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000"},"pending"]}
<< {"jsonrpc":"2.0","id":77,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":78,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000"},"0x3e8"]}
<< {"jsonrpc":"2.0","id":78,"error":{"code":-32000,"message":"header not found"}}
>> {"jsonrpc":"2.0","id":79,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","from":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","value":"0x1"}]}
<< {"jsonrpc":"2.0","id":79,"result":"0x5208"}
>> {"jsonrpc":"2.0","id":80,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000","from":"0x1313131313131313131313131313131313131313","value":"0x1","gasPrice":"0x7fffffff"}]}
<< {"jsonrpc":"2.0","id":80,"error":{"code":-32000,"message":"insufficient funds for transfer"}}
>> {"jsonrpc":"2.0","id":81,"method":"eth_estimateGas","params":[{"to":"0x0000000000000000000000000000000000000000"},"0x1"]}
<< {"jsonrpc":"2.0","id":81,"result":"0x5208"}
