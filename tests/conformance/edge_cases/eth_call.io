>> {"jsonrpc":"2.0","id":0,"method":"eth_call","params":[{},"latest"]}
<< {"jsonrpc":"2.0","id":0,"result":"0x"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"},"latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_call","params":[{"from":"0x12"},"latest"]}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_call","params":[{"from":5},"latest"]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.from of type common.Address"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_call","params":[{"to":""},"latest"]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 0, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_call","params":[{"gas":"0x01"},"latest"]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number with leading zero digits into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_call","params":[{"gas":5},"latest"]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_call","params":[{"gas":"xx"},"latest"]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_call","params":[{"gas":"0x10000000000000000"},"latest"]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number > 64 bits into Go struct field TransactionArgs.gas of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_call","params":[{"gas":""},"latest"]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"err: intrinsic gas too low: have 0, want 53000 (supplied gas 0)"}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_call","params":[{"gasPrice":"0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},"latest"]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex number > 256 bits into Go struct field TransactionArgs.gasPrice of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_call","params":[{"value":"5"},"latest"]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.value of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_call","params":[{"value":5},"latest"]}
<< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.value of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":13,"method":"eth_call","params":[{"nonce":"0xzz"},"latest"]}
<< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal invalid hex string into Go struct field TransactionArgs.nonce of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":14,"method":"eth_call","params":[{"data":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":15,"method":"eth_call","params":[{"data":"zz"},"latest"]}
<< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":16,"method":"eth_call","params":[{"data":"0xzz"},"latest"]}
<< {"jsonrpc":"2.0","id":16,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal invalid hex string into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":17,"method":"eth_call","params":[{"data":5},"latest"]}
<< {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.data of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":18,"method":"eth_call","params":[{"input":true},"latest"]}
<< {"jsonrpc":"2.0","id":18,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal non-string into Go struct field TransactionArgs.input of type hexutil.Bytes"}}
>> {"jsonrpc":"2.0","id":19,"method":"eth_call","params":[{"data":"0x01","input":"0x01","to":"0x0000000000000000000000000000000000000000"},"latest"]}
<< {"jsonrpc":"2.0","id":19,"result":"0x"}
>> {"jsonrpc":"2.0","id":20,"method":"eth_call","params":[{"gasPrice":"0x1","maxFeePerGas":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":20,"error":{"code":-32000,"message":"both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"}}
>> {"jsonrpc":"2.0","id":21,"method":"eth_call","params":[{"gasPrice":"0x1","maxPriorityFeePerGas":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":21,"error":{"code":-32000,"message":"both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"}}
>> {"jsonrpc":"2.0","id":22,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","chainId":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":22,"error":{"code":-32000,"message":"chainId does not match node's (have=1, want=3503995874084926)"}}
>> {"jsonrpc":"2.0","id":23,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","chainId":"0xc72dd9d5e883e"},"latest"]}
<< {"jsonrpc":"2.0","id":23,"result":"0x"}
>> {"jsonrpc":"2.0","id":24,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","value":"0x1","from":"0x1313131313131313131313131313131313131313"},"latest"]}
<< {"jsonrpc":"2.0","id":24,"error":{"code":-32000,"message":"err: insufficient funds for gas * price + value: address 0x1313131313131313131313131313131313131313 have 0 want 1 (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":25,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gasPrice":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":25,"error":{"code":-32000,"message":"err: max fee per gas less than block base fee: address 0x0000000000000000000000000000000000000000, maxFeePerGas: 1, baseFee: 27399063 (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":26,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gasPrice":"0x7fffffff","from":"0x1313131313131313131313131313131313131313"},"latest"]}
<< {"jsonrpc":"2.0","id":26,"error":{"code":-32000,"message":"err: insufficient funds for gas * price + value: address 0x1313131313131313131313131313131313131313 have 0 want 4294967294000000000 (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":27,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","maxFeePerGas":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":27,"error":{"code":-32000,"message":"err: max fee per gas less than block base fee: address 0x0000000000000000000000000000000000000000, maxFeePerGas: 1, baseFee: 27399063 (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":28,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x0"},"latest"]}
<< {"jsonrpc":"2.0","id":28,"error":{"code":-32000,"message":"err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)"}}
>> {"jsonrpc":"2.0","id":29,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x5207"},"latest"]}
<< {"jsonrpc":"2.0","id":29,"error":{"code":-32000,"message":"err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)"}}
>> {"jsonrpc":"2.0","id":30,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0x5208"},"latest"]}
<< {"jsonrpc":"2.0","id":30,"result":"0x"}
>> {"jsonrpc":"2.0","id":31,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gas":"0xffffffffffffff"},"latest"]}
<< {"jsonrpc":"2.0","id":31,"result":"0x"}
>> {"jsonrpc":"2.0","id":32,"method":"eth_call","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x00"},"latest"]}
<< {"jsonrpc":"2.0","id":32,"error":{"code":3,"message":"execution reverted: assert(false)","data":"0x4e487b710000000000000000000000000000000000000000000000000000000000000001"}}
>> {"jsonrpc":"2.0","id":33,"method":"eth_call","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x01"},"latest"]}
<< {"jsonrpc":"2.0","id":33,"error":{"code":3,"message":"execution reverted: user error","data":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72"}}
>> {"jsonrpc":"2.0","id":34,"method":"eth_call","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x02"},"latest"]}
<< {"jsonrpc":"2.0","id":34,"error":{"code":3,"message":"execution reverted: user error","data":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72"}}
>> {"jsonrpc":"2.0","id":35,"method":"eth_call","params":[{"to":"0x17e7eedce4ac02ef114a7ed9fe6e2f33feba1667","input":"0xff030405"},"latest"]}
<< {"jsonrpc":"2.0","id":35,"error":{"code":3,"message":"execution reverted","data":"0x77726f6e672d63616c6c6461746173697a65"}}
>> {"jsonrpc":"2.0","id":36,"method":"eth_call","params":[{"data":"0xfe"},"latest"]}
<< {"jsonrpc":"2.0","id":36,"error":{"code":-32000,"message":"invalid opcode: INVALID"}}
>> {"jsonrpc":"2.0","id":37,"method":"eth_call","params":[{"data":"0x56"},"latest"]}
<< {"jsonrpc":"2.0","id":37,"error":{"code":-32000,"message":"stack underflow (0 <=> 1)"}}
>> {"jsonrpc":"2.0","id":38,"method":"eth_call","params":[{"data":"0x600056"},"latest"]}
<< {"jsonrpc":"2.0","id":38,"error":{"code":-32000,"message":"invalid jump destination"}}
>> {"jsonrpc":"2.0","id":39,"method":"eth_call","params":[{"data":"0x01"},"latest"]}
<< {"jsonrpc":"2.0","id":39,"error":{"code":-32000,"message":"stack underflow (0 <=> 2)"}}
>> {"jsonrpc":"2.0","id":40,"method":"eth_call","params":[{"data":"0x5b600056","gas":"0x1000000"},"latest"]}
<< {"jsonrpc":"2.0","id":40,"error":{"code":-32000,"message":"out of gas"}}
>> {"jsonrpc":"2.0","id":41,"method":"eth_call","params":[{"data":"0x60006000fd"},"latest"]}
<< {"jsonrpc":"2.0","id":41,"error":{"code":3,"message":"execution reverted","data":"0x"}}
>> {"jsonrpc":"2.0","id":42,"method":"eth_call","params":[{"data":"0x6001600055600160005500"},"latest"]}
<< {"jsonrpc":"2.0","id":42,"result":"0x"}
>> {"jsonrpc":"2.0","id":43,"method":"eth_call","params":[{"data":"0x600160005560006000f3","gas":"0xd000"},"latest"]}
<< {"jsonrpc":"2.0","id":43,"error":{"code":-32000,"message":"out of gas: not enough gas for reentrancy sentry"}}
>> {"jsonrpc":"2.0","id":44,"method":"eth_call","params":[{"accessList":5},"latest"]}
<< {"jsonrpc":"2.0","id":44,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go struct field TransactionArgs.accessList of type types.AccessList"}}
>> {"jsonrpc":"2.0","id":45,"method":"eth_call","params":[{"accessList":[{"address":"0x12","storageKeys":[]}]},"latest"]}
<< {"jsonrpc":"2.0","id":45,"error":{"code":-32602,"message":"invalid argument 0: hex string has length 2, want 40 for common.Address"}}
>> {"jsonrpc":"2.0","id":46,"method":"eth_call","params":[{"accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","storageKeys":["0x1"]}]},"latest"]}
<< {"jsonrpc":"2.0","id":46,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string of odd length into Go struct field TransactionArgs.accessList.storageKeys of type common.Hash"}}
>> {"jsonrpc":"2.0","id":47,"method":"eth_call","params":[{"accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]},"latest"]}
<< {"jsonrpc":"2.0","id":47,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'storageKeys' for AccessTuple"}}
>> {"jsonrpc":"2.0","id":48,"method":"eth_call","params":[{"accessList":[{"storageKeys":[]}]},"latest"]}
<< {"jsonrpc":"2.0","id":48,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'address' for AccessTuple"}}
>> {"jsonrpc":"2.0","id":49,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","accessList":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","storageKeys":["0x2222222222222222222222222222222222222222222222222222222222222222"]}]},"latest"]}
<< {"jsonrpc":"2.0","id":49,"result":"0x"}
>> {"jsonrpc":"2.0","id":50,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","nonce":"0x5"},"latest"]}
<< {"jsonrpc":"2.0","id":50,"result":"0x"}
>> {"jsonrpc":"2.0","id":51,"method":"eth_call","params":[{"blobVersionedHashes":["0x2222222222222222222222222222222222222222222222222222222222222222"]},"latest"]}
<< {"jsonrpc":"2.0","id":51,"error":{"code":-32000,"message":"blob transaction of type create"}}
>> {"jsonrpc":"2.0","id":52,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":["0x2222222222222222222222222222222222222222222222222222222222222222"]},"latest"]}
<< {"jsonrpc":"2.0","id":52,"error":{"code":-32000,"message":"err: blob 0 has invalid hash version (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":53,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":[]},"latest"]}
<< {"jsonrpc":"2.0","id":53,"error":{"code":-32000,"message":"err: blob transaction missing blob hashes (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":54,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","blobVersionedHashes":["0x0122222222222222222222222222222222222222222222222222222222222222"],"maxFeePerBlobGas":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":54,"result":"0x"}
>> {"jsonrpc":"2.0","id":55,"method":"eth_call","params":[{"authorizationList":[]},"latest"]}
<< {"jsonrpc":"2.0","id":55,"error":{"code":-32000,"message":"EIP-7702 transaction cannot be used to create contract"}}
>> {"jsonrpc":"2.0","id":56,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":[]},"latest"]}
<< {"jsonrpc":"2.0","id":56,"error":{"code":-32000,"message":"err: EIP-7702 transaction with empty auth list (sender 0x0000000000000000000000000000000000000000) (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":57,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":[{}]},"latest"]}
<< {"jsonrpc":"2.0","id":57,"error":{"code":-32602,"message":"invalid argument 0: missing required field 'chainId' for SetCodeAuthorization"}}
>> {"jsonrpc":"2.0","id":58,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","authorizationList":5},"latest"]}
<< {"jsonrpc":"2.0","id":58,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal number into Go struct field TransactionArgs.authorizationList of type []types.SetCodeAuthorization"}}
>> {"jsonrpc":"2.0","id":59,"method":"eth_call","params":[{"From":"0x0000000000000000000000000000000000000000","TO":"0x0000000000000000000000000000000000000000"},"latest"]}
<< {"jsonrpc":"2.0","id":59,"result":"0x"}
>> {"jsonrpc":"2.0","id":60,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","value":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},"latest"]}
<< {"jsonrpc":"2.0","id":60,"error":{"code":-32000,"message":"err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 have 142312500000103418778 want 115792089237316195423570985008687907853269984665640564039457584007913129639935 (supplied gas 2000000000)"}}
>> {"jsonrpc":"2.0","id":61,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","gas":null,"value":null,"from":null},"latest"]}
<< {"jsonrpc":"2.0","id":61,"result":"0x"}
>> {"jsonrpc":"2.0","id":62,"method":"eth_call","params":[{"maxFeePerBlobGas":"zz"},"latest"]}
<< {"jsonrpc":"2.0","id":62,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.maxFeePerBlobGas of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":63,"method":"eth_call","params":[{"chainId":"zz"},"latest"]}
<< {"jsonrpc":"2.0","id":63,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field TransactionArgs.chainId of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":64,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","foo":1},"latest"]}
<< {"jsonrpc":"2.0","id":64,"result":"0x"}
>> {"jsonrpc":"2.0","id":65,"method":"eth_call","params":[{"data":"0x60ef60005360016000f3"},"latest"]}
<< {"jsonrpc":"2.0","id":65,"error":{"code":-32000,"message":"invalid code: must not begin with 0xef"}}
>> {"jsonrpc":"2.0","id":66,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000","from":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","nonce":"0xffffffffffffffff"},"latest"]}
<< {"jsonrpc":"2.0","id":66,"result":"0x"}
>> {"jsonrpc":"2.0","id":67,"method":"eth_call","params":[{"to":"0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930","input":"0x00","gas":"0x5300"},"latest"]}
<< {"jsonrpc":"2.0","id":67,"error":{"code":-32000,"message":"out of gas"}}
>> {"jsonrpc":"2.0","id":68,"method":"eth_call","params":[{"data":"0x3d60003e"},"latest"]}
<< {"jsonrpc":"2.0","id":68,"error":{"code":-32000,"message":"stack underflow (2 <=> 3)"}}
>> {"jsonrpc":"2.0","id":69,"method":"eth_call","params":[{"data":"0x5f5f3d3e"},"latest"]}
<< {"jsonrpc":"2.0","id":69,"result":"0x"}
>> {"jsonrpc":"2.0","id":70,"method":"eth_call","params":[{"data":"0x6001600052602060006001600060006000600060045af1"},"latest"]}
<< {"jsonrpc":"2.0","id":70,"result":"0x"}
>> {"jsonrpc":"2.0","id":71,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000006","input":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},"latest"]}
<< {"jsonrpc":"2.0","id":71,"error":{"code":-32000,"message":"invalid fp.Element encoding"}}
>> {"jsonrpc":"2.0","id":72,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000009","input":"0x00"},"latest"]}
<< {"jsonrpc":"2.0","id":72,"error":{"code":-32000,"message":"invalid input length"}}
>> {"jsonrpc":"2.0","id":73,"method":"eth_call","params":[{"data":"0x60016000f3"},"latest"]}
<< {"jsonrpc":"2.0","id":73,"result":"0x00"}
>> {"jsonrpc":"2.0","id":74,"method":"eth_call","params":[{"data":"0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5f52"},"latest"]}
<< {"jsonrpc":"2.0","id":74,"result":"0x"}
>> {"jsonrpc":"2.0","id":75,"method":"eth_call","params":[{"data":"0x5f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff52"},"latest"]}
<< {"jsonrpc":"2.0","id":75,"error":{"code":-32000,"message":"gas uint64 overflow"}}
>> {"jsonrpc":"2.0","id":76,"method":"eth_call","params":[{"data":"0x61ffff5ff3"},"latest"]}
<< {"jsonrpc":"2.0","id":76,"error":{"code":-32000,"message":"max code size exceeded: code size 65535 limit 24576"}}
>> {"jsonrpc":"2.0","id":77,"method":"eth_call","params":[]}
<< {"jsonrpc":"2.0","id":77,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":78,"method":"eth_call","params":[null,"latest"]}
<< {"jsonrpc":"2.0","id":78,"error":{"code":-32602,"message":"missing value for required argument 0"}}
>> {"jsonrpc":"2.0","id":79,"method":"eth_call","params":["x","latest"]}
<< {"jsonrpc":"2.0","id":79,"error":{"code":-32602,"message":"invalid argument 0: json: cannot unmarshal string into Go value of type ethapi.TransactionArgs"}}
>> {"jsonrpc":"2.0","id":80,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"}]}
<< {"jsonrpc":"2.0","id":80,"result":"0x"}
>> {"jsonrpc":"2.0","id":81,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},null]}
<< {"jsonrpc":"2.0","id":81,"result":"0x"}
>> {"jsonrpc":"2.0","id":82,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"0x3e8"]}
<< {"jsonrpc":"2.0","id":82,"error":{"code":-32000,"message":"header not found"}}
>> {"jsonrpc":"2.0","id":83,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"0x1111111111111111111111111111111111111111111111111111111111111111"]}
<< {"jsonrpc":"2.0","id":83,"error":{"code":-32000,"message":"header for hash not found"}}
>> {"jsonrpc":"2.0","id":84,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"pending"]}
<< {"jsonrpc":"2.0","id":84,"result":"0x"}
>> {"jsonrpc":"2.0","id":85,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{},{},1]}
<< {"jsonrpc":"2.0","id":85,"error":{"code":-32602,"message":"too many arguments, want at most 4"}}
>> {"jsonrpc":"2.0","id":86,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest","x"]}
<< {"jsonrpc":"2.0","id":86,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal string into Go value of type override.StateOverride"}}
>> {"jsonrpc":"2.0","id":87,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",null,null]}
<< {"jsonrpc":"2.0","id":87,"result":"0x"}
>> {"jsonrpc":"2.0","id":88,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"balance":"zz"}}]}
<< {"jsonrpc":"2.0","id":88,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal hex string without 0x prefix into Go struct field OverrideAccount.balance of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":89,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"zz":{}}]}
<< {"jsonrpc":"2.0","id":89,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address"}}
>> {"jsonrpc":"2.0","id":90,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"state":{},"stateDiff":{}}}]}
<< {"jsonrpc":"2.0","id":90,"error":{"code":-32000,"message":"account 0x0000000000000000000000000000000000000000 has both 'state' and 'stateDiff'"}}
>> {"jsonrpc":"2.0","id":91,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"code":"0x602a60005260206000f3"}}]}
<< {"jsonrpc":"2.0","id":91,"result":"0x000000000000000000000000000000000000000000000000000000000000002a"}
>> {"jsonrpc":"2.0","id":92,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"movePrecompileToAddress":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}}]}
<< {"jsonrpc":"2.0","id":92,"error":{"code":-32000,"message":"account 0x0000000000000000000000000000000000000000 is not a precompile"}}
>> {"jsonrpc":"2.0","id":93,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{},{"number":"zz"}]}
<< {"jsonrpc":"2.0","id":93,"error":{"code":-32602,"message":"invalid argument 3: json: cannot unmarshal hex string without 0x prefix into Go struct field BlockOverrides.Number of type *hexutil.Big"}}
>> {"jsonrpc":"2.0","id":94,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{},{"beaconRoot":"0x2222222222222222222222222222222222222222222222222222222222222222"}]}
<< {"jsonrpc":"2.0","id":94,"error":{"code":-32000,"message":"block override \"beaconRoot\" is not supported for this RPC method"}}
>> {"jsonrpc":"2.0","id":95,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"code":"0x4360005260206000f3"}},{"number":"0x99"}]}
<< {"jsonrpc":"2.0","id":95,"result":"0x0000000000000000000000000000000000000000000000000000000000000099"}
>> {"jsonrpc":"2.0","id":96,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",5]}
<< {"jsonrpc":"2.0","id":96,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal number into Go value of type override.StateOverride"}}
>> {"jsonrpc":"2.0","id":97,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{},5]}
<< {"jsonrpc":"2.0","id":97,"error":{"code":-32602,"message":"invalid argument 3: json: cannot unmarshal number into Go value of type override.BlockOverrides"}}
>> {"jsonrpc":"2.0","id":98,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":5}]}
<< {"jsonrpc":"2.0","id":98,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal number into Go value of type override.OverrideAccount"}}
>> {"jsonrpc":"2.0","id":99,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"nonce":5}}]}
<< {"jsonrpc":"2.0","id":99,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal non-string into Go struct field OverrideAccount.nonce of type hexutil.Uint64"}}
>> {"jsonrpc":"2.0","id":100,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"0x0000000000000000000000000000000000000000":{"state":{"0x1":"0x2"}}}]}
<< {"jsonrpc":"2.0","id":100,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal hex string of odd length into Go struct field OverrideAccount.state of type common.Hash"}}
