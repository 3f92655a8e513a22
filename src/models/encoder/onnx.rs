//! Writes an ONNX model: nodes, constants, and weights that lie in a buffer beside it.
//!
//! Only what the graphs of `graph/` need of the format. An ONNX file is a protobuf message, and a protobuf message is a list of
//! fields: a number with its kind, then an integer of variable length, four bytes, or a length and bytes.
//! Invariant: nodes stand in the order in which they are computed, since a [`Value`] exists only after what makes it.

/// The name of the buffer that holds the weights. rten refuses names with other endings.
pub const WEIGHTS: &str = "weights.data";

/// What something in the graph is called: an input, a weight, a constant, the output of a node.
#[derive(Clone, Debug)]
pub struct Value(String);

/// An attribute of a node.
pub enum Attribute<'a> {
    Float(f32),
    Int(i64),
    Ints(&'a [i64]),
    Text(&'a str),
}

/// What the numbers of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Float,
    Int,
}

/// The length of a tensor along one axis.
pub enum Dim {
    Known(usize),
    Named(&'static str),
}

/// A graph that grows node by node.
#[derive(Default)]
pub struct Graph {
    nodes: Message,
    initializers: Message,
    inputs: Message,
    outputs: Message,
    n_values: usize,
    n_nodes: usize,
}

impl Graph {
    /// An input that each run brings.
    pub fn input(&mut self, name: &str, numbers: Numbers, shape: &[Dim]) -> Value {
        self.inputs.message(11, &declared(name, numbers, shape));
        Value(name.to_string())
    }

    /// Makes a value an output, under a name.
    pub fn output(&mut self, name: &str, value: &Value, shape: &[Dim]) {
        self.add("Identity", &[value], &[], name);
        self.outputs.message(12, &declared(name, Numbers::Float, shape));
    }

    /// The output of an operation on these values.
    pub fn node(&mut self, operation: &str, inputs: &[&Value], attributes: &[(&str, Attribute)]) -> Value {
        self.n_values += 1;
        let output = format!("v{}", self.n_values);
        self.add(operation, inputs, attributes, &output);
        Value(output)
    }

    fn add(&mut self, operation: &str, inputs: &[&Value], attributes: &[(&str, Attribute)], output: &str) {
        self.n_nodes += 1;
        let mut node = Message::default();
        inputs.iter().for_each(|input| node.text(1, &input.0));
        node.text(2, output);
        node.text(3, &format!("{operation}_{}", self.n_nodes));
        node.text(4, operation);
        attributes.iter().for_each(|(name, value)| node.message(5, &attribute(name, value)));
        self.nodes.message(1, &node);
    }

    /// A constant list of integers.
    pub fn ints(&mut self, values: &[i64]) -> Value {
        self.int_tensor(values, Some(values.len()))
    }

    /// A constant integer.
    pub fn int(&mut self, value: i64) -> Value {
        self.int_tensor(&[value], None)
    }

    fn int_tensor(&mut self, values: &[i64], length: Option<usize>) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(TENSOR_INT64, length, &bytes)
    }

    /// A constant number.
    pub fn float(&mut self, value: f32) -> Value {
        self.constant(TENSOR_FLOAT, None, &value.to_le_bytes())
    }

    fn constant(&mut self, data_type: u64, length: Option<usize>, bytes: &[u8]) -> Value {
        self.n_values += 1;
        let name = format!("c{}", self.n_values);
        let mut tensor = Message::default();
        length.iter().for_each(|length| tensor.int(1, *length as u64));
        tensor.int(2, data_type);
        tensor.text(8, &name);
        tensor.bytes(9, bytes);
        self.initializers.message(5, &tensor);
        Value(name)
    }

    /// A tensor of `f32` at a place of the buffer of weights.
    pub fn weight(&mut self, name: &str, shape: &[usize], offset: usize, length: usize) -> Value {
        let mut tensor = Message::default();
        shape.iter().for_each(|length| tensor.int(1, *length as u64));
        tensor.int(2, TENSOR_FLOAT);
        tensor.text(8, name);
        let place = [("location", WEIGHTS.into()), ("offset", offset.to_string()), ("length", length.to_string())];
        for (key, value) in place {
            let mut entry = Message::default();
            entry.text(1, key);
            entry.text(2, &value);
            tensor.message(13, &entry);
        }
        const EXTERNAL: u64 = 1;
        tensor.int(14, EXTERNAL);
        self.initializers.message(5, &tensor);
        Value(name.to_string())
    }

    /// The bytes of the model.
    pub fn finish(self) -> Vec<u8> {
        let mut graph = self.nodes;
        graph.text(2, "encoder");
        for part in [self.initializers, self.inputs, self.outputs] {
            graph.0.extend_from_slice(&part.0);
        }
        let mut operators = Message::default();
        operators.int(2, OPERATOR_SET);
        let mut model = Message::default();
        model.int(1, IR_VERSION);
        model.message(7, &graph);
        model.message(8, &operators);
        model.0
    }
}

/// The first operator set that has `Gelu`.
const OPERATOR_SET: u64 = 20;
const IR_VERSION: u64 = 9;
const TENSOR_FLOAT: u64 = 1;
const TENSOR_INT64: u64 = 7;

fn declared(name: &str, numbers: Numbers, dims: &[Dim]) -> Message {
    let mut shape = Message::default();
    for dim in dims {
        let mut length = Message::default();
        match dim {
            Dim::Known(value) => length.int(1, *value as u64),
            Dim::Named(name) => length.text(2, name),
        }
        shape.message(1, &length);
    }
    let mut tensor = Message::default();
    tensor.int(1, if numbers == Numbers::Float { TENSOR_FLOAT } else { TENSOR_INT64 });
    tensor.message(2, &shape);
    let mut kind = Message::default();
    kind.message(1, &tensor);
    let mut info = Message::default();
    info.text(1, name);
    info.message(2, &kind);
    info
}

fn attribute(name: &str, value: &Attribute) -> Message {
    const KIND: u64 = 20;
    let mut message = Message::default();
    message.text(1, name);
    match value {
        Attribute::Float(value) => {
            message.float(2, *value);
            message.int(KIND, 1);
        }
        Attribute::Int(value) => {
            message.int(3, *value as u64);
            message.int(KIND, 2);
        }
        Attribute::Text(value) => {
            message.text(4, value);
            message.int(KIND, 3);
        }
        Attribute::Ints(values) => {
            values.iter().for_each(|value| message.int(8, *value as u64));
            message.int(KIND, 7);
        }
    }
    message
}

/// A protobuf message as it is written: fields one behind the other.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn int(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}
