>> {"jsonrpc":"2.0","id":0,"method":"eth_getCode","params":["0x0000000000000000000000000000000000000000","latest"]}
<< {"jsonrpc":"2.0","id":0,"result":"0x"}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","pending"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x3680600080376000206000548082558060010160005560005263656d697460206000a2"}
