/** ONNX's operators of pictures, in the form that `onnx.js` documents. */
import { adaptiveAvgPool, adaptiveMaxPool, avgPool, conv1d, conv2d, convTranspose1d, convTranspose2d, gridSample, maxPool, resize } from 'residua/tensor';

/** Stride, dilation and padding of windows. `auto_pad` and `ceil_mode` follow from the sizes of the result. */
function sliding(extents, sizes, results, { strides, dilations, pads, auto_pad, ceil_mode }) {
  const stride = strides ?? sizes.map(() => 1);
  const dilation = dilations ?? sizes.map(() => 1);
  const padding = sizes.map((size, k) => {
    const span = (size - 1) * dilation[k] + 1;
    const needed = (results[k] - 1) * stride[k] + span - extents[k];
    if (auto_pad === 'SAME_UPPER') return [needed >> 1, needed - (needed >> 1)];
    if (auto_pad === 'SAME_LOWER') return [needed - (needed >> 1), needed >> 1];
    const [before, after] = pads === undefined ? [0, 0] : [pads[k], pads[k + sizes.length]];
    return [before, ceil_mode === 1 ? Math.max(after, needed - before) : after];
  });
  return { stride, dilation, padding };
}

function conv([x, weight, bias], n, attributes, { outputs }) {
  const options = { ...sliding(x.sizes.slice(2), weight.sizes.slice(2), outputs[0].shape.slice(2), attributes), groups: attributes.group ?? 1, ...(bias && { bias }) };
  return (x.rank === 3 ? conv1d : conv2d)(x, weight, options);
}

function convTranspose([x, weight, bias], n, { strides, dilations, pads, group = 1, output_padding, output_shape }) {
  const sizes = weight.sizes.slice(2);
  const [stride, dilation] = [strides ?? sizes.map(() => 1), dilations ?? sizes.map(() => 1)];
  const more = output_padding ?? sizes.map(() => 0);
  const widths = sizes.map((size, k) => {
    if (output_shape === undefined) return { padding: pads === undefined ? [0, 0] : [pads[k], pads[k + sizes.length]], more: more[k] };
    const beyond = (x.sizes[k + 2] - 1) * stride[k] + (size - 1) * dilation[k] + 1 + more[k] - output_shape[k];
    const cut = Math.max(beyond, 0);
    return { padding: [cut - (cut >> 1), cut >> 1], more: more[k] + Math.max(-beyond, 0) };
  });
  const options = { stride, dilation, groups: group, padding: widths.map(({ padding }) => padding), outputPadding: widths.map((each) => each.more), ...(bias && { bias }) };
  return (x.rank === 3 ? convTranspose1d : convTranspose2d)(x, weight, options);
}

const pool = (apply) => ([x], n, attributes, { outputs }) => {
  const size = attributes.kernel_shape;
  const lead = x.rank - size.length;
  const options = sliding(x.sizes.slice(lead), size, outputs[0].shape.slice(lead), attributes);
  return apply(x, size, { ...options, ...(attributes.count_include_pad === 1 && { countPadding: true }) });
};

const whole = (apply) => ([x]) => apply(x, x.sizes.slice(2).map(() => 1));

/** Only the sizes of the result count: scales are their ratio. */
const resized = ([x], n, { mode = 'nearest', coordinate_transformation_mode }, { outputs }) =>
  resize(x, outputs[0].shape, { mode, alignCorners: coordinate_transformation_mode === 'align_corners' });

export const OPERATORS_OF_PICTURES = {
  Conv: conv, ConvTranspose: convTranspose,
  AveragePool: pool(avgPool), MaxPool: pool(maxPool), GlobalAveragePool: whole(adaptiveAvgPool), GlobalMaxPool: whole(adaptiveMaxPool),
  Resize: resized, Upsample: resized,
  GridSample: ([x, grid], n, { mode = 'linear', padding_mode = 'zeros', align_corners = 0 }) =>
    gridSample(x, grid, { mode, border: { zeros: 'zero', border: 'clamp', reflection: 'mirror' }[padding_mode], alignCorners: align_corners === 1 }),
};
