/** The examples of the editor, each a file of its own in examples/: a title, and what it shows in a sentence. */
export const EXAMPLES = {
  oscillation: { title: 'A curve through measurements', words: 'A model of numbers is fitted, and its parameters get standard errors.' },
  outliers: { title: 'A line among wrong ones', words: 'A robust loss takes the weight from measurements that are wrong.' },
  circle: { title: 'A circle through points', words: 'Distances to a circle are residuals; centre and radius are unknown.' },
  equation: { title: 'Hares and lynxes', words: 'The rates of a differential equation are found from what was counted.' },
  plain: { title: 'A fall through air', words: 'A simulation in plain JavaScript is the model, without formulas for its derivatives.' },
  points: { title: 'A scan on its model', words: 'A cloud of points is turned and moved onto an outline: the nearest places are sought anew at each iteration.' },
  picture: { title: 'A picture in another', words: 'A picture is found in one that is turned, moved and brighter, from the values of its pixels.' },
  linkage: { title: 'A linkage from its path', words: 'The bars of a mechanism are found from the path that one of its points takes.' },
  chain: { title: 'A hanging chain', words: 'The least energy under constraints: links keep their lengths.' },
  network: { title: 'A network learns a curve', words: 'Tensors: a layer of 32 units is trained in 600 steps.' },
  onnx: { title: 'A model of ONNX', words: 'A file of ONNX is loaded from its bytes, and run for many inputs at once.' },
  'first-fit': { title: 'The same without helpers', words: 'A problem of parameters, data and a residual function, as larger ones have it.' },
};
