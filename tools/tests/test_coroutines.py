from fake_tree import FakeTree


class CheckCoroutines(FakeTree):
    def test_accepts_what_has_a_name(self):
        self.write("src/io/link/talk.cc", """
            while (auto message = co_await call.read()) {}
            while (const std::optional<std::string> message = co_await call.read()) {}
            if (auto connected = co_await std::move(connecting); !connected) return;
            if (co_await std::move(writing) == Next::kLinger) return;
            if (!co_await writing) return;
            const bool goes_on = co_await call.write(bytes);
            if (goes_on) co_await call.write(bytes);
            for (int i = 0; i < 3; ++i) co_await call.write(bytes);
            // if (co_await call.read()) would not do
            log("while (co_await call.read())");
        """)
        self.assert_passes("check-coroutines")

    def test_refuses_conditions_that_await_a_call(self):
        for condition in ["if (co_await call.read()) {}",
                          "if (!co_await call.read()) {}",
                          "while (co_await call.read()) {}",
                          "while (is_open && co_await call.read()) {}",
                          "while (co_await more(call)) {}",
                          "while (co_await link->more()) {}",
                          "do {} while (co_await rpc::more());",
                          "for (; co_await call.read();) {}",
                          "if ((co_await call.read()).has_value()) {}",
                          "if (auto name = of(call); co_await\n call.read()) {}",
                          "switch (co_await call.kind()) {}"]:
            with self.subTest(condition=condition):
                self.write("src/io/link/talk.cc", f"// why\n{condition}\n")
                self.assert_fails("src/io/link/talk.cc:2: g++ 12 miscompiles", "check-coroutines")
