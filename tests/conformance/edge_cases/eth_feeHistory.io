>> {"jsonrpc":"2.0","id":0,"method":"eth_feeHistory","params":["0x0","latest",[]]}
<< {"jsonrpc":"2.0","id":0,"result":{"oldestBlock":"0x0","gasUsedRatio":null}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x2","latest",[]]}
<< {"jsonrpc":"2.0","id":1,"result":{"oldestBlock":"0x35","baseFeePerGas":["0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1"],"blobGasUsedRatio":[0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":2,"method":"eth_feeHistory","params":[2,"latest",[10.5]]}
<< {"jsonrpc":"2.0","id":2,"result":{"oldestBlock":"0x35","reward":[["0x1"],["0x1"]],"baseFeePerGas":["0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1"],"blobGasUsedRatio":[0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":3,"method":"eth_feeHistory","params":["2","0x3e8",[]]}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"request beyond head block: requested 1000, head 54"}}
>> {"jsonrpc":"2.0","id":4,"method":"eth_feeHistory","params":["2","latest"]}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"missing value for required argument 2"}}
>> {"jsonrpc":"2.0","id":5,"method":"eth_feeHistory","params":["2","latest",null]}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"missing value for required argument 2"}}
>> {"jsonrpc":"2.0","id":6,"method":"eth_feeHistory","params":["2","latest",[101]]}
<< {"jsonrpc":"2.0","id":6,"error":{"code":-32000,"message":"invalid reward percentile: 101.000000"}}
>> {"jsonrpc":"2.0","id":7,"method":"eth_feeHistory","params":["2","latest",[50,10]]}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"invalid reward percentile: #0:50.000000 >= #1:10.000000"}}
>> {"jsonrpc":"2.0","id":8,"method":"eth_feeHistory","params":["2","latest",[-1]]}
<< {"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"invalid reward percentile: -1.000000"}}
>> {"jsonrpc":"2.0","id":9,"method":"eth_feeHistory","params":["zz","latest",[]]}
<< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid argument 0: invalid hex or decimal integer \"zz\""}}
>> {"jsonrpc":"2.0","id":10,"method":"eth_feeHistory","params":["0xzz","latest",[]]}
<< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"invalid argument 0: invalid hex or decimal integer \"0xzz\""}}
>> {"jsonrpc":"2.0","id":11,"method":"eth_feeHistory","params":[-2,"latest",[]]}
<< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"invalid argument 0: invalid hex or decimal integer \"-2\""}}
>> {"jsonrpc":"2.0","id":12,"method":"eth_feeHistory","params":["","latest",[]]}
<< {"jsonrpc":"2.0","id":12,"result":{"oldestBlock":"0x0","gasUsedRatio":null}}
>> {"jsonrpc":"2.0","id":13,"method":"eth_feeHistory","params":[2.5,"latest",[]]}
<< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"invalid argument 0: invalid hex or decimal integer \"2.5\""}}
>> {"jsonrpc":"2.0","id":14,"method":"eth_feeHistory","params":["2","latest",["x"]]}
<< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal string into Go value of type float64"}}
>> {"jsonrpc":"2.0","id":15,"method":"eth_feeHistory","params":["2","latest","x"]}
<< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"invalid argument 2: json: cannot unmarshal string into Go value of type []float64"}}
>> {"jsonrpc":"2.0","id":16,"method":"eth_feeHistory","params":["0x5","0x36",[10,50,90]]}
<< {"jsonrpc":"2.0","id":16,"result":{"oldestBlock":"0x32","reward":[["0x1","0x1","0x1"],["0x1","0x1","0x1"],["0x1","0x1","0x1"],["0x1","0x1","0x1"],["0x1","0x1","0x1"]],"baseFeePerGas":["0x2c880c7","0x26f8616","0x221d98d","0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.00046934,0.001709625,0.00071818,0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1","0x1","0x1","0x1"],"blobGasUsedRatio":[0,0.06666666666666667,0,0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":17,"method":"eth_feeHistory","params":["0x40","0x36",[0,100]]}
<< {"jsonrpc":"2.0","id":17,"result":{"oldestBlock":"0x0","reward":[["0x0","0x0"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"],["0x1","0x1"]],"baseFeePerGas":["0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x3b9aca00","0x342a385a","0x2daa2286","0x27f6a8ed","0x22fa616a","0x1e9df006","0x1acb6ae1","0x1774a846","0x1486fee3","0x11f76ec1","0xfb9f848","0xdc37500","0xc0c8585","0xa8b517c","0x93a819e","0x813f23b","0x711e8d2","0x6301330","0x56a9213","0x4bdff4c","0x426a277","0x3a1ffb7","0x32e01e6","0x2c880c7","0x26f8616","0x221d98d","0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0,0.00337899,0.91400327,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00191387,0.00182828,0.00332215,0.00191387,0.00182828,0.00332215,0.00242296,0.00093868,0.00339815,0.00072868,0.001555235,0.00061312,0.00099823,0.001275185,0.00062368,0.001555235,0.00061318,0.00099823,0.001275185,0.00072868,0.001699075,0.00046934,0.00089325,0.001275215,0.00088302,0.00089325,0.001275215,0.00215776,0.001275215,0.00072868,0.001111315,0.00121149,0.00046934,0.001709625,0.00071818,0.00062368,0.001699125],"baseFeePerBlobGas":["0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1"],"blobGasUsedRatio":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.16666666666666666,0.16666666666666666,0,0.1111111111111111,0,0,0.1111111111111111,0,0,0.06666666666666667,0,0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":18,"method":"eth_feeHistory","params":["0x3","earliest",[50]]}
<< {"jsonrpc":"2.0","id":18,"result":{"oldestBlock":"0x0","reward":[["0x0"]],"baseFeePerGas":["0x0","0x0"],"gasUsedRatio":[0],"baseFeePerBlobGas":["0x0","0x0"],"blobGasUsedRatio":[0]}}
>> {"jsonrpc":"2.0","id":19,"method":"eth_feeHistory","params":["0x40","0x1d",[]]}
<< {"jsonrpc":"2.0","id":19,"result":{"oldestBlock":"0x0","baseFeePerGas":["0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x3b9aca00","0x342a385a","0x2daa2286","0x27f6a8ed"],"gasUsedRatio":[0,0.00337899,0.91400327,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00195339,0.00183684,0.00337023,0.00191387,0.00182828,0.00332215,0.00191387,0.00182828,0.00332215,0.00242296,0.00093868,0.00339815,0.00072868,0.001555235,0.00061312],"baseFeePerBlobGas":["0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0","0x0"],"blobGasUsedRatio":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}}
>> {"jsonrpc":"2.0","id":20,"method":"eth_feeHistory","params":["0x2","safe",[]]}
<< {"jsonrpc":"2.0","id":20,"result":{"oldestBlock":"0x35","baseFeePerGas":["0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1"],"blobGasUsedRatio":[0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":21,"method":"eth_feeHistory","params":["0x2","latest",[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100]]}
<< {"jsonrpc":"2.0","id":21,"error":{"code":-32000,"message":"invalid reward percentile: over the query limit 100"}}
>> {"jsonrpc":"2.0","id":22,"method":"eth_feeHistory","params":["0x3","0x2a",[]]}
<< {"jsonrpc":"2.0","id":22,"result":{"oldestBlock":"0x28","baseFeePerGas":["0xa8b517c","0x93a819e","0x813f23b","0x711e8d2"],"gasUsedRatio":[0.00089325,0.001275215,0.00088302],"baseFeePerBlobGas":["0x0","0x0","0x1","0x1"],"blobGasUsedRatio":[0,0,0.16666666666666666]}}
>> {"jsonrpc":"2.0","id":23,"method":"eth_feeHistory","params":[{},"0x2a",[]]}
<< {"jsonrpc":"2.0","id":23,"error":{"code":-32602,"message":"invalid argument 0: invalid hex or decimal integer \"{}\""}}
>> {"jsonrpc":"2.0","id":24,"method":"eth_feeHistory","params":["0x2","latest",[10,10]]}
<< {"jsonrpc":"2.0","id":24,"error":{"code":-32000,"message":"invalid reward percentile: #0:10.000000 >= #1:10.000000"}}
>> {"jsonrpc":"2.0","id":25,"method":"eth_feeHistory","params":["0x9","latest",[1,25,50,75,99]]}
<< {"jsonrpc":"2.0","id":25,"result":{"oldestBlock":"0x2e","reward":[["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"],["0x1","0x1","0x1","0x1","0x1"]],"baseFeePerGas":["0x4bdff4c","0x426a277","0x3a1ffb7","0x32e01e6","0x2c880c7","0x26f8616","0x221d98d","0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.001275215,0.00072868,0.001111315,0.00121149,0.00046934,0.001709625,0.00071818,0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1","0x1"],"blobGasUsedRatio":[0,0,0.1111111111111111,0,0,0.06666666666666667,0,0.06666666666666667,0]}}
>> {"jsonrpc":"2.0","id":26,"method":"eth_feeHistory","params":["0x2","pending",[50]]}
<< {"jsonrpc":"2.0","id":26,"result":{"oldestBlock":"0x36","reward":[["0x1"],["0x0"]],"baseFeePerGas":["0x1a21397","0x16dfe9b","0x1403ec8"],"gasUsedRatio":[0.001699125,0],"baseFeePerBlobGas":["0x1","0x1","0x1"],"blobGasUsedRatio":[0,0]}}
>> {"jsonrpc":"2.0","id":27,"method":"eth_feeHistory","params":["0x1","pending",[]]}
<< {"jsonrpc":"2.0","id":27,"result":{"oldestBlock":"0x37","baseFeePerGas":["0x16dfe9b","0x1403ec8"],"gasUsedRatio":[0],"baseFeePerBlobGas":["0x1","0x1"],"blobGasUsedRatio":[0]}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x0","0x2b",[43,43]]}
<< {"jsonrpc":"2.0","id":1,"result":{"oldestBlock":"0x0","gasUsedRatio":null}}
>> {"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x0","0xffff",[]]}
<< {"jsonrpc":"2.0","id":1,"result":{"oldestBlock":"0x0","gasUsedRatio":null}}
