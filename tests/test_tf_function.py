"""Graphs without AutoGraph: nothing called is rewritten, and loops say so."""

import sys

import pytest
import tensorflow as tf

from tcnlm.layers.tf_function import graph

needs_autograph = pytest.mark.skipif(
    sys.version_info >= (3, 13),
    reason="the AutoGraph of TensorFlow 2.21 rewrites nothing on Python 3.13",
)


class Layer(tf.keras.layers.Layer):
    def call(self, inputs):
        self.read_from = sys._getframe().f_code.co_filename
        return inputs + 1


def add_up(number):
    total = tf.constant(0)
    for i in tf.range(number):
        total += i
    return total


@needs_autograph
def test_a_layer_runs_as_it_is_written_where_tf_function_rewrites_it():
    layer = Layer()
    assert graph(layer)(tf.constant(1)) == 2
    assert layer.read_from == __file__
    assert tf.function(layer)(tf.constant(1)) == 2
    assert layer.read_from != __file__


def test_a_python_loop_over_a_tensor_raises():
    with pytest.raises(TypeError, match="not allowed"):
        graph(lambda number: add_up(number))(tf.constant(4))


def test_a_signature_names_the_inputs_of_a_method():
    class Adder:
        def add(self, first, second):
            return {"sum": first + second}

    spec = tf.TensorSpec([], tf.float32, "a"), tf.TensorSpec([], tf.float32, "b")
    concrete = graph(Adder().add, spec).get_concrete_function()
    assert set(concrete.structured_input_signature[0]) == set(spec)
    assert concrete(a=tf.constant(1.0), b=tf.constant(2.0))["sum"] == 3


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([])]])
def test_a_method_traced_for_each_of_many_models_is_no_retracing(signature, caplog):
    class Model:
        def twice(self, number):
            return 2 * number

    tf.get_logger().propagate, before = True, tf.get_logger().propagate
    for _ in range(8):
        graph(Model().twice, signature)(tf.constant(1.0))
    tf.get_logger().propagate = before
    assert ("retracing" in caplog.text) == (signature is None)
